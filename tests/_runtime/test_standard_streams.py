"""Standard streams that are full, closed, slow or no files at all."""

import contextlib
import io
import os
import subprocess
import sys
import threading

import pytest

from keras_attention._runtime import standard_streams
from keras_attention._runtime.command_line import exit_with_user_errors
from keras_attention._runtime.standard_streams import lines_as_they_come, write_line
from tests.support import ROOT

FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")


@pytest.fixture(params=["buffered", "unbuffered"], autouse=True)
def buffering(request, monkeypatch):
    """Python with and without `-u`: other objects stand for the streams."""
    monkeypatch.setenv("PYTHONUNBUFFERED", "1" if request.param == "unbuffered" else "")


def run_in_shell(main: str, redirection: str) -> subprocess.CompletedProcess:
    """A command whose `main` is given as source, started by a shell with a redirection."""
    script = f"""if True:
        import sys
        from keras_attention._runtime.command_line import exit_with_user_errors
        from keras_attention.errors import UserError
        def main(arguments):
            {main}
        exit_with_user_errors(main, [])
    """
    command = f'"$0" -c "$1" {redirection}'
    return subprocess.run(
        ["bash", "-c", command, sys.executable, script], cwd=ROOT, capture_output=True, text=True
    )


@FULL
@pytest.mark.parametrize(
    "main", ["print('a')", "[print('a' * 100) for _ in range(10_000)]", "print('a'); sys.exit(0)"]
)
def test_a_full_output_is_one_line_of_error(main):
    done = run_in_shell(main, ">/dev/full")
    assert done.returncode == 2
    assert done.stderr == "error: standard output: cannot be written: No space left on device\n"


@FULL
def test_full_messages_are_dropped():
    done = run_in_shell("raise UserError('a.tsv:1: is wrong')", "2>/dev/full")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("redirection", [">&-", "<&-", "2>&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize(("raised", "status"), [("", 0), ("; raise UserError('wrong')", 2)])
def test_a_closed_stream_is_the_null_device(redirection, raised, status):
    main = "print('a', sys.stdin.read()); print('b', file=sys.stderr)" + raised
    done = run_in_shell(main, f"{redirection} {'' if '<' in redirection else '</dev/null'}")
    assert done.returncode == status
    assert "Traceback" not in done.stderr and "Bad file" not in done.stderr


def test_a_file_never_gets_the_number_of_a_closed_stream(tmp_path):
    main = f"open({str(tmp_path / 'a')!r}, 'w', encoding='utf-8').write('mine'); print('a')"
    run_in_shell(main, ">&- 2>&- <&-")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "mine"


def test_a_reader_that_ends_early_ends_the_command_as_a_signal_would():
    done = run_in_shell(
        "[print('a' * 100) for _ in range(10_000)]", "| head -1 >/dev/null; exit ${PIPESTATUS[0]}"
    )
    assert (done.returncode, done.stderr) == (141, "")


def test_a_notebooks_stream_will_do(capsys):
    """It has neither `reconfigure` nor `buffer`."""

    class Cell(io.TextIOBase):
        text = ""

        def write(self, text):
            self.text += text
            return len(text)

    cell = Cell()
    with contextlib.redirect_stdout(cell):
        exit_with_user_errors(lambda arguments: (print("년"), write_line("a")), [])
    assert cell.text == "년\na\n"


def test_lines_come_one_by_one_from_a_slow_pipe_and_together_from_a_fast_one(monkeypatch):
    reading, writing = os.pipe()
    with open(reading, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        answers = lines_as_they_come(3)
        os.write(writing, b"a\n")
        assert next(answers) == [b"a\n"]
        os.write(writing, b"b\r\nc\nd\ne\nhal")
        assert [next(answers), next(answers)] == [[b"b\r\n", b"c\n", b"d\n"], [b"e\n"]]
        os.write(writing, b"f\nend")
        assert next(answers) == [b"half\n"]
        os.close(writing)
        assert list(answers) == [[b"end"]]


@pytest.mark.parametrize("text", [b"", b"\n", b"a", b"a\n\n", b"a\nb" * 5000, b"x" * 300_000])
def test_all_lines_come_whatever_their_length(monkeypatch, text):
    reading, writing = os.pipe()

    def write():
        with open(writing, "wb") as file:
            file.write(text)

    thread = threading.Thread(target=write)
    thread.start()
    with open(reading, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        lists = list(lines_as_they_come(7))
    thread.join()
    assert [line for lines in lists for line in lines] == text.splitlines(keepends=True)
    assert all(0 < len(lines) <= 7 for lines in lists)


def test_where_the_system_cannot_tell_each_line_is_answered_at_once(monkeypatch):
    """Windows can ask sockets only whether something waits."""

    def refusing(*arguments):
        raise OSError(10038, "not a socket")

    monkeypatch.setattr(standard_streams.select, "select", refusing)
    reading, writing = os.pipe()
    with open(reading, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        os.write(writing, b"a\n")
        assert next(lines_as_they_come(1000)) == [b"a\n"]
        os.close(writing)


@pytest.mark.parametrize("is_console", [False, True])
def test_a_line_is_utf8_but_on_a_console_of_another_encoding(is_console):
    class Stream(io.TextIOWrapper):
        def isatty(self):
            return is_console

    stream = Stream(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    with contextlib.redirect_stdout(stream):
        print("→ a")
        write_line("→ a")
    stream.flush()
    escaped = b"\\u2192 a\n"
    line = escaped if is_console else "→ a\n".encode()
    assert stream.buffer.getvalue() == escaped + line
