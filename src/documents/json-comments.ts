/** JSON as editors write it, with comments and trailing commas, as plain JSON of the same length. */

const TOKENS = /"(?:[^"\\]|\\[^])*"?|\/\/[^\r\n]*|\/\*[^]*?(?:\*\/|$)|[^\s]/gu;

/** Puts spaces in place of comments and of commas before a closing bracket, so that every place stays where it is. Takes linear time. */
export function withoutComments(text: string): string {
  const tokens = Array.from(text.matchAll(TOKENS), ({ 0: token, index }) => ({ token, index }));
  const plain = tokens.filter(({ token }) => !isComment(token));
  const blanks = [
    ...tokens.filter(({ token }) => isComment(token)),
    ...plain.filter(({ token }, at) => token === "," && ["}", "]"].includes(plain[at + 1]?.token ?? "")),
  ].toSorted((one, other) => one.index - other.index);
  let result = "";
  let end = 0;
  for (const { token, index } of blanks) {
    result += text.slice(end, index) + token.replaceAll(/[^\r\n]/gu, " ");
    end = index + token.length;
  }
  return result + text.slice(end);
}

function isComment(token: string): boolean {
  return token.startsWith("//") || token.startsWith("/*");
}
