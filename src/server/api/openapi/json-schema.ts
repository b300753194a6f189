/** Builds the JSON Schemas of the API so that their TypeScript types can be inferred. */

type Schemas = Readonly<Record<string, unknown>>;

type Names<Fields> = readonly (keyof Fields & string)[];

/** The schema of an object in a request. All fields are required by default; unknown fields are refused. */
export function object<const Fields extends Schemas, const Required extends Names<Fields> = Names<Fields>>(
  properties: Fields,
  required = Object.keys(properties) as unknown as Required, // the object's own fields
) {
  return { type: "object", properties, required, additionalProperties: false } as const;
}

/** The schema of an object in a response. All fields are required by default; a later version may add others. */
export function answer<const Fields extends Schemas, const Required extends Names<Fields> = Names<Fields>>(
  properties: Fields,
  required = Object.keys(properties) as unknown as Required, // the object's own fields
) {
  return { type: "object", properties, required } as const;
}

export function array<const Items, const More extends object>(items: Items, more: More = {} as More) {
  return { type: "array", items, ...more } as const;
}

export function text<const More extends object>(description: string, more: More = {} as More) {
  return { type: "string", description, ...more } as const;
}

/** Maximum delay of a response, in milliseconds. Node's `fetch`, which clients and servers use, fails after 300 s without a response head. */
export const MAX_WAIT_MS = 240_000;
/** How long a request waits for calls if it does not say, in milliseconds. */
export const DEFAULT_WAIT_MS = 30_000;

export function integer<const More extends object>(description: string, minimum: number, maximum: number, more: More = {} as More) {
  return { type: "integer", description, minimum, maximum, ...more } as const;
}

export function flag(description: string) {
  return { type: "boolean", description } as const;
}

export function oneOf<const Words extends readonly string[]>(description: string, words: Words) {
  return { type: "string", description, enum: words } as const;
}

/** A reference to a schema of `COMPONENTS`. */
export function ref<const Name extends string>(name: Name) {
  return { $ref: `#/components/schemas/${name}` } as const satisfies { $ref: string };
}

export const anyJson = { description: "Any JSON value." } as const;

/** The schema of an object with any keys. */
export function record(description: string) {
  return { type: "object", description, additionalProperties: true } as const;
}

/** The schema of an id of a call, a session, a job and so on. */
export function id(description: string) {
  return { type: "string", description, minLength: 1, maxLength: 1_024 } as const;
}

/** The schema of a time, in milliseconds since the epoch. */
export function time(description: string) {
  return { type: "number", description: `${description} Milliseconds since 1970-01-01 UTC.` } as const;
}
