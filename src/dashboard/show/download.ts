/** Gives the reader a file of text. */

export function download(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** A file name made of what others wrote. */
export function fileName(text: string, ending: string): string {
  return `${text.replaceAll(/[^\w.-]+/gu, "-").slice(0, 80)}.${ending}`;
}
