# docker build -t interlace .                                                        # CPU
# docker build -t interlace:gpu --build-arg TORCH_INDEX=https://pypi.org/simple .    # NVIDIA GPUs; run with --gpus all
# docker run --rm -v interlace-cache:/cache -v "$PWD:/work" interlace demo -o runs/demo
FROM python:3.11-slim AS build
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/interlace
RUN /opt/interlace/bin/pip install --no-cache-dir --constraint constraints.txt --extra-index-url "$TORCH_INDEX" '.[hub,lora,translate,words]'

FROM python:3.11-slim
COPY --from=build /opt/interlace /opt/interlace
# Corpora, vocabularies, checkpoints of the hub and compiled kernels are in the volume /cache, so that the next container has them.
ENV PATH=/opt/interlace/bin:$PATH INTERLACE_CACHE=/cache/interlace HF_HOME=/cache/huggingface NUMBA_CACHE_DIR=/cache/numba
RUN useradd --create-home --uid 1000 interlace && mkdir /cache /work && chown interlace:interlace /cache /work
USER interlace
VOLUME /cache
WORKDIR /work
ENTRYPOINT ["interlace"]
CMD ["--help"]
