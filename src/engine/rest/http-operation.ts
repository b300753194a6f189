/** How the input of one tool becomes one HTTP request. Plain data: an import makes it, the engine reads it. */

export interface HttpOperation {
  /** Upper case: `GET`, `TRACE`. */
  readonly method: string;
  /** As the document has it, placeholders in braces: `/repos/{owner}/{repo}`. */
  readonly path: string;
  /** Where `path` begins, without a trailing slash; undefined where the document does not say, or only a relative address. */
  readonly server?: string;
  readonly parameters: readonly HttpParameter[];
  readonly body?: HttpBody;
  /** Any one of these will do, in the order of the document; an empty requirement = none needed. Undefined = what the engine has. */
  readonly security?: readonly SecurityRequirement[];
  /** Media types the answer may have, as the document says; for the Accept header. */
  readonly accepts: readonly string[];
}

export interface HttpParameter {
  /** The name on the wire. */
  readonly name: string;
  readonly in: "path" | "query" | "header" | "cookie";
  /** Which property of the input it comes from. */
  readonly key: string;
  readonly required: boolean;
  readonly style: "simple" | "label" | "matrix" | "form" | "spaceDelimited" | "pipeDelimited" | "deepObject" | "tabDelimited";
  readonly explode: boolean;
  /** Reserved characters of a query value are sent as they are. */
  readonly allowReserved?: boolean;
  /** The input has no such property: the engine brings it, as a credential or a header of its own, or the path has no place for it. @default false */
  readonly supplied?: boolean;
  /** A `content` parameter: its value is serialised in this media type, instead of by `style`. */
  readonly mediaType?: string;
}

export interface HttpBody {
  readonly required: boolean;
  /** The one that is sent. */
  readonly mediaType: string;
  /** All that the document offers, in its order. */
  readonly mediaTypes: readonly string[];
  /** The input's keys are next to the parameters, or all of the body is under one of them. */
  readonly fields: readonly BodyField[] | { readonly key: string };
  /** The value of its one key is base64, although the media type is one of text. @default as the media type says */
  readonly binary?: boolean;
  /** Of a form or multipart body, by wire name. */
  readonly encoding?: Readonly<Record<string, BodyEncoding>>;
}

export interface BodyField {
  /** The name in the body. */
  readonly name: string;
  /** Which property of the input it comes from. */
  readonly key: string;
  readonly required: boolean;
}

export interface BodyEncoding {
  readonly contentType?: string;
  readonly style?: HttpParameter["style"];
  readonly explode?: boolean;
  readonly allowReserved?: boolean;
  /** The value is base64 of the bytes to send. */
  readonly binary?: boolean;
}

/** Scheme name → scopes; all of them together. */
export type SecurityRequirement = readonly SecurityUse[];

export interface SecurityUse {
  /** The name the document gives the scheme. */
  readonly name: string;
  readonly scopes: readonly string[];
  readonly scheme: SecurityScheme;
}

export type SecurityScheme =
  | { readonly type: "apiKey"; readonly in: "header" | "query" | "cookie"; readonly name: string }
  | { readonly type: "http"; readonly scheme: string }
  | { readonly type: "oauth2"; readonly tokenUrl?: string }
  | { readonly type: "other"; readonly described: string };
