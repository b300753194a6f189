import { toSlug } from "../field-texts.ts";
import type { Relation } from "../drawn-fields.ts";

const TITLES = ["name", "title", "display_name", "label"];
const SLUGS = ["slug", "permalink", "url_slug", "handle_slug"];

/** A slug is made of the title: `cast-iron-pan` for `cast iron pan`. */
export const slugFromTitle: Relation = (names) => {
  const [title, slug] = [TITLES.find((name) => names.has(name)), SLUGS.find((name) => names.has(name))];
  if (title === undefined || slug === undefined) return undefined;
  return (object) => {
    const text = object.getText(title);
    if (text !== undefined && object.getText(slug) !== undefined && toSlug(text) !== "") object.set(slug, toSlug(text));
  };
};
