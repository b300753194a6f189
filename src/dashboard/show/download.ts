/** Offers text as a download. */

/** How long the URL is kept, in milliseconds: browsers begin to read it after the click. */
const URL_LIFETIME_MS = 10_000;

export function download(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), URL_LIFETIME_MS);
}
