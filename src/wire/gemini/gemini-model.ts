/** What the name of one of Gemini's models says of it. */

/** From Gemini 3 on. */
export const NEW_MODEL = /(?:^|\/)gemini-(?:[3-9]|\d\d)(?!\d)/u;
