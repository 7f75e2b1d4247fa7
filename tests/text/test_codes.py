from interlace.text.codes import THREE, three_letters


def test_every_code_has_its_letters_is_the_only_one_and_leads_back():
    assert len(THREE) == 184
    assert all((len(two), len(three)) == (2, 3) for two, three in THREE.items())
    assert len(set(THREE.values())) == len(THREE)
    for two in THREE:
        codes = three_letters(two)
        assert codes[-1] == THREE[two]


def test_groups_of_languages_try_the_one_that_is_meant_first_and_others_their_own_code():
    assert three_letters("zh") == ("cmn", "zho")
    assert three_letters("sw") == ("swh", "swa")
    assert three_letters("ar") == ("ara",)
    assert three_letters("xx-new") == ("xx-new",)
