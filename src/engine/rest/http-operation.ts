/** Describes how the input of a tool becomes an HTTP request. Plain data that the OpenAPI import makes and the engine reads. */

export interface HttpOperation {
  /** Upper case: `GET`, `TRACE`. */
  readonly method: string;
  /** As in the document, placeholders in braces: `/repos/{owner}/{repo}`. */
  readonly path: string;
  /** The address before `path`, without a trailing slash; undefined if the document has none, or only a relative one. */
  readonly server?: string;
  readonly parameters: readonly HttpParameter[];
  readonly body?: HttpBody;
  /** Alternatives, in the document's order; an empty requirement = no credentials needed. Undefined = all that the engine has. */
  readonly security?: readonly SecurityRequirement[];
  /** Media types that the document declares for the answer; for the Accept header. */
  readonly accepts: readonly string[];
}

export interface HttpParameter {
  /** The name in the request. */
  readonly name: string;
  readonly in: "path" | "query" | "header" | "cookie";
  /** The property of the input with its value. */
  readonly key: string;
  readonly required: boolean;
  readonly style: "simple" | "label" | "matrix" | "form" | "spaceDelimited" | "pipeDelimited" | "deepObject" | "tabDelimited";
  readonly explode: boolean;
  /** Whether reserved characters of a query value are sent unencoded. */
  readonly allowReserved?: boolean;
  /** Whether the input has no such property: the engine provides the value, or the path has no place for it. @default false */
  readonly supplied?: boolean;
  /** Set for a `content` parameter: its value is serialized in this media type, and not by `style`. */
  readonly mediaType?: string;
}

export interface HttpBody {
  readonly required: boolean;
  /** The media type that is sent. */
  readonly mediaType: string;
  /** All media types that the document offers, in its order. */
  readonly mediaTypes: readonly string[];
  /** The properties of the input that are fields of the body, or the one property that is the whole body. */
  readonly fields: readonly BodyField[] | { readonly key: string };
  /** Whether the value of the single property is base64, although the media type is textual. @default as the media type says */
  readonly binary?: boolean;
  /** Encodings of fields of a form or multipart body, by their names in the body. */
  readonly encoding?: Readonly<Record<string, BodyEncoding>>;
}

export interface BodyField {
  /** The name in the body. */
  readonly name: string;
  /** The property of the input with its value. */
  readonly key: string;
  readonly required: boolean;
}

export interface BodyEncoding {
  readonly contentType?: string;
  readonly style?: HttpParameter["style"];
  readonly explode?: boolean;
  readonly allowReserved?: boolean;
  /** Whether the value is base64 of the bytes to send. */
  readonly binary?: boolean;
}

/** Security schemes that are all required together. */
export type SecurityRequirement = readonly SecurityUse[];

export interface SecurityUse {
  /** The scheme's name in the document. */
  readonly name: string;
  readonly scopes: readonly string[];
  readonly scheme: SecurityScheme;
}

export type SecurityScheme =
  | { readonly type: "apiKey"; readonly in: "header" | "query" | "cookie"; readonly name: string }
  | { readonly type: "http"; readonly scheme: string }
  | { readonly type: "oauth2"; readonly tokenUrl?: string }
  | { readonly type: "other"; readonly described: string };
