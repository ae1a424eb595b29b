// Colors of a text: spans by kind of word. `words` is made from the grammar by `make site`; without it, words have no color.
const TOKENS = {
  query: /(?<comment>#.*)|(?<string>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|(?<number>\b\d[\d.]*(?:[eE][+-]?\d+)?\b)|(?<word>[\p{L}_][\p{L}\p{N}_]*)/gu,
  data: /(?<comment>^#.*)|(?<marker>"\$(?:accent|punctuation)")|(?<string>"(?:\\.|[^"\\\n])*"?)|(?<number>-?\b\d[\d.]*(?:[eE][+-]?\d+)?\b)/gmu,
  text: /(?!)/g,
};

export function colored(text, language, words) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(TOKENS[language])) {
    const [kind, value] = Object.entries(match.groups).find(([, found]) => found !== undefined);
    const name = kind === "word" ? Object.keys(words).find((list) => words[list].includes(value)) : kind;
    if (name === undefined) continue;
    parts.push(text.slice(end, match.index), Object.assign(document.createElement("span"), { className: name, textContent: value }));
    end = match.index + value.length;
  }
  return [...parts, text.slice(end)];
}
