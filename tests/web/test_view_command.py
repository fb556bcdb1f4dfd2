"""`view` with a gold alignment: outlines stand where the model's own tokens are."""

import json
import re
import shutil
import unicodedata

from keras_attention.folders.run_folder import VOCABULARY
from keras_attention.readers.translator import Translator
from tests.support.commands import call_verb
from tests.support.exports import random_run


def test_links_are_counted_in_the_models_tokens_and_only_right_answers_have_them(tmp_path):
    run = tmp_path / "run"
    shutil.copytree(random_run().config.out, run)
    vocabulary = json.loads((run / VOCABULARY).read_text(encoding="utf-8"))
    vocabulary["source"]["normal_form"] = "NFD"
    (run / VOCABULARY).write_text(json.dumps(vocabulary), encoding="utf-8")
    source = "년a각b"
    answer = Translator.load(run).translate([source])[0].text
    assert answer
    data = tmp_path / "data.tsv"
    lines = [f"{source}\t{answer}\t1-0 3p0", f"{source}\t{answer}x\t1-0"]
    data.write_text("\n".join(lines), encoding="utf-8")
    finished = call_verb("view", run, data, "--out", tmp_path / "page.html")
    assert finished.status == 0, finished.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    right, wrong = json.loads(re.search(r'id="data">(.*)</script>', page)[1])["examples"]
    assert right["source_tokens"] == list(unicodedata.normalize("NFD", source))
    places = [(right["source_tokens"][link["source"]], link["sure"]) for link in right["links"]]
    assert places == [("a", True), ("b", False)]
    assert wrong["links"] == []
