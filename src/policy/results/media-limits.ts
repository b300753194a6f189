/**
 * Largest images and PDF files that a model is shown, in bytes. They are sent again with each later request, and the strictest providers
 * accept an image of 3.75 MB (5 MB in base64) and a document of 4.5 MB: a larger one would make each of these requests fail.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html
 * @see https://docs.anthropic.com/en/docs/build-with-claude/vision#faq
 */
export const MAX_MEDIA_BYTES = { image: 3_500_000, pdf: 4_500_000 } as const;
