// Texts into tokens and ids and back, for the three kinds of tokens that an export can have.

const NO_CHARACTER = -1; // U+0000, since 0 is padding

// `kind` is char, word or subword; `vocabulary` lists the tokens by id, reserved ids being null.
export function sideOf(kind, vocabulary) {
  if (kind === "char") {
    return {
      tensor: "code_points",
      split: (text) => Array.from(text.replace(/\p{Surrogate}/gu, "\ufffd")),
      idOf: (character) => character.codePointAt(0) || NO_CHARACTER,
      tokenOf: (point) => String.fromCodePoint(point),
      join: (tokens) => tokens.join(""),
    };
  }
  const ids = new Map(vocabulary.map((token, id) => [token, id]));
  ids.delete(null);
  const unknown = vocabulary.lastIndexOf(null); // the last of the reserved ids
  return {
    tensor: "token_ids",
    split: kind === "word" ? splitWords : (text) => splitPieces(text, ids),
    idOf: (token) => ids.get(token) ?? unknown,
    tokenOf: (id) => vocabulary[id],
    join: kind === "word" ? (tokens) => tokens.join(" ") : (t) => t.join("").replace(/^ /, ""),
  };
}

function splitWords(text) {
  return text.match(/[^ \t\n\r\f\v]+/g) ?? []; // ASCII white space alone
}

// A space before the text; then from the left the longest piece that fits, or one character.
function splitPieces(given, pieces) {
  let rest = given && ` ${given}`;
  const tokens = [];
  while (rest) {
    let best = String.fromCodePoint(rest.codePointAt(0));
    for (const piece of pieces.keys()) {
      if (piece.length > best.length && rest.startsWith(piece)) best = piece;
    }
    tokens.push(best);
    rest = rest.slice(best.length);
  }
  return tokens;
}
