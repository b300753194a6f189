/**
 * Whether a text that a server gave is the address of a page that a person may be sent to. A name before the host, as in
 * `https://bank.example@evil.example`, only misleads.
 */
export function isWebAddress(text: string): boolean {
  if (!/^https?:\/\//iu.test(text) || !URL.canParse(text) || /[\s\p{Cc}]/u.test(text)) return false;
  const { username, password } = new URL(text);
  return username === "" && password === "";
}
