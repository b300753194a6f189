/** A PDF document of one page, as small as they come. */
export function pdfOf(text: string): Uint8Array {
  const stream = `BT /F1 24 Tf 72 720 Td (${text}) Tj ET`;
  return pdfOfObjects(`<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`);
}

export interface PdfParts {
  /** Of the object 5. */
  readonly font?: string;
  readonly kids?: string;
  /** From the object 6 on. */
  readonly more?: readonly string[];
}

/** Pages that share the object 4 as their content, given as it stands in the file, in Latin-1. */
export function pdfOfObjects(
  content: string,
  { font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", kids = "3 0 R", more = [] }: PdfParts = {},
): Uint8Array {
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${kids.split("R").length - 1} >>`,
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    content,
    font,
    ...more,
  ];
  let file = "%PDF-1.4\n";
  const offsets = objects.map((object, at) => {
    const offset = file.length;
    file += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const table = file.length;
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("")}`;
  return Buffer.from(`${file}trailer << /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF`, "latin1");
}
