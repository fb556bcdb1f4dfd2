// Subwords by the rule of `keras_attention/text/subwords.py`: a space before the text, then from the
// left the longest piece that fits, or one character where none does.

const SPACE = " ";

// A function from a text to its tokens; `pieces` are strings that are not empty.
export function pieceCutter(pieces) {
  const known = new Set(pieces);
  const lengthsOf = new Map(); // by first character, the lengths to try, the longest first
  for (const piece of known) {
    const first = String.fromCodePoint(piece.codePointAt(0));
    if (!lengthsOf.has(first)) lengthsOf.set(first, new Set());
    lengthsOf.get(first).add(piece.length);
  }
  for (const [first, lengths] of lengthsOf) {
    lengthsOf.set(first, [...lengths].sort((a, b) => b - a));
  }

  return (given) => {
    const text = given && SPACE + given;
    const tokens = [];
    for (let start = 0; start < text.length; ) {
      const first = String.fromCodePoint(text.codePointAt(start));
      const fits = (length) => known.has(text.slice(start, start + length));
      const length = lengthsOf.get(first)?.find(fits) ?? first.length;
      tokens.push(text.slice(start, start + length));
      start += length;
    }
    return tokens;
  };
}

export function joinPieces(tokens) {
  const text = tokens.join("");
  return text.startsWith(SPACE) ? text.slice(SPACE.length) : text;
}
