from interlace.text.codes import THREE, three_letters


def test_every_code_has_its_letters_is_the_only_one_and_leads_back():
    assert len(THREE) == 184
    assert all((len(two), len(three)) == (2, 3) for two, three in THREE.items())
    assert len(set(THREE.values())) == len(THREE)
    for two in THREE:
        codes = three_letters(two)
        assert codes[-1] == THREE[two]
