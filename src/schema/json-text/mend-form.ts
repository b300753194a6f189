/** Mends the form of broken JSON text: quotes, commas, comments, words of Python, brackets that were left out. */
import { jsonrepair } from "jsonrepair";

/** Deeper than any limit of ours. Keeps the mending, which recurses and inserts at each level, from growing with the square of it. */
const MAX_OPEN = 256;

/** Text that may be JSON; empty where it cannot be mended. */
export function mendForm(text: string): string {
  if (opensTooMuch(text)) return "";
  try {
    return jsonrepair(text);
  } catch {
    return ""; // no JSON, or nested too deeply for a reader that recurses
  }
}

/** Counts brackets in texts, too: those are few, or come in pairs. */
function opensTooMuch(text: string): boolean {
  let open = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === "{" || char === "[") open++;
    else if (char === "}" || char === "]") open = Math.max(0, open - 1);
    if (open > MAX_OPEN) return true;
  }
  return false;
}
