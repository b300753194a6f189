/**
 * Whether a text of a server is the address of a page that a person may be sent to. A user name before the host is refused, as it only misleads:
 * `https://bank.example@evil.example`.
 */
export function isWebAddress(text: string): boolean {
  if (!/^https?:\/\//iu.test(text) || !URL.canParse(text) || /[\s\p{Cc}]/u.test(text)) return false;
  const { username, password } = new URL(text);
  return username === "" && password === "";
}
