/** The code of the tools that the descriptors beside it describe, under their names. */
export const take = ({ item, grams }: { readonly item: string; readonly grams: number }) => `${grams} g of ${item}`;
