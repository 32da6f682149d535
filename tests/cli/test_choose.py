"""The command choose on texts."""


def test_texts_are_chosen_for_and_the_model_takes_texts(run, tmp_path):
    lines = ["text,labels"] + [f'"a {word} number {i}",lib{word}' for i in range(60) for word in ("web", "font")]
    table = tmp_path / "packages.csv"
    table.write_text("\n".join(lines) + "\n")
    fast = ("--tradeoffs", "0,1", "--fanouts", "2")
    limits = ("--max-precision-loss", "0.5", "--tune", "C,tradeoff,fanout", "--time-budget", "60")
    chosen = run("choose", table, "-o", tmp_path / "model", *limits, *fast)
    assert chosen.exit_code == 0, chosen.stderr
    assert "pairs of loss and C were tried" in chosen.stdout
    answers = run("predict", tmp_path / "model", table, "-k", "1")
    assert answers.exit_code == 0
    assert [("libweb" in line, "libfont" in line) for line in answers.stdout.splitlines()[-2:]] == [
        (True, False),
        (False, True),
    ]
    other = tmp_path / "other.csv"
    other.write_text('text,labels\n"a web thing","libweb,libnew"\n')
    swept = run("sweep", table, "--validation", other, "--tradeoffs", "0", "--fanouts", "2", "--json")
    assert swept.exit_code == 0, swept.stderr
    assert '"p1": 1.0' in swept.stdout
