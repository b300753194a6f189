/** The codes of errors of JSON-RPC that are answered here. */

/** JSON-RPC: what was asked for does not make sense. */
export const INVALID_PARAMS = -32_602;
/** JSON-RPC: there is no such method, or not for this. */
export const METHOD_NOT_FOUND = -32_601;
/** JSON-RPC: our own fault. */
export const INTERNAL_ERROR = -32_603;
export const INVALID_REQUEST = -32_600;
/** JSON-RPC: the text is not JSON. */
export const PARSE_ERROR = -32_700;
