// Runs find_gradients.py by Brython, which is Python in JavaScript, on what the page sends.

importScripts("brython.js", "brython-modules.js");

// Brython's regular expressions take a second for 2,000 lines: the browser's own read the tokens.
const KINDS = ["string", "comment", "name", "number", "newline", "space", "op"];
let token;
self.take = (pattern) => {
  const word = "\\p{L}\\p{N}_"; // what Python's \w is
  const translated = pattern
    .replaceAll("(?P<", "(?<")
    .replaceAll("\\#", "#")
    .replaceAll("[^\\W\\d]", `(?!\\p{Decimal_Number})[${word}]`)
    .replaceAll("[\\w.]", `[${word}.]`)
    .replaceAll("\\w", `[${word}]`)
    .replaceAll("\\d", "\\p{Decimal_Number}");
  token = new RegExp(translated, "gsu");
};
// Kind, text, start and end of each token; Python counts two surrogates as one.
const surrogates = /[\ud800-\udbff][\udc00-\udfff]/g;
self.scan = (text, at, whole) => {
  const found = [];
  for (const match of String(text).matchAll(token)) {
    const [word, ...groups] = match;
    const kind = KINDS[groups.findIndex((group) => group !== undefined)];
    const end = at + word.length - (word.match(surrogates)?.length ?? 0);
    if (whole || (kind !== "space" && kind !== "comment"))
      found.push([kind, __BRYTHON__.String(word), at, end]);
    at = end;
  }
  return found;
};

// The page makes addresses itself: it may be read elsewhere than where it was published.
const glue = `
BASE = ""
from browser import self
self.take(TOKEN.pattern)

def scan(text, start=0, stop=None):
    return self.scan(text[start:stop], start, True)

def tokens(text, start=0, stop=None):
    return self.scan(text[start:stop], start, False)

def found(text):
    whole = text.lstrip().startswith("{") and '"cell_type"' in text
    return json.dumps(find(text, "code.ipynb" if whole else "code.py"))

# Imports what Brython imports late, so that the first answer need not wait for it.
find("tf.gradients(f(y), x)[0]")
self.found = found
`;
const started = fetch("../start/find_gradients.py")
  .then((response) => response.text())
  .then((source) => __BRYTHON__.runPythonSource(`${source}\n${glue}`, "find_gradients"));

self.onmessage = async ({ data }) => {
  try {
    await started;
    self.postMessage({ found: self.found(data) });
  } catch (error) {
    self.postMessage({ error: error.args?.join(" ") ?? String(error) });
  }
};
