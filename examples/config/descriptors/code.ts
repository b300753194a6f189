/** The handlers of the tools described in this folder; each export has the name of its tool. */
export const take = ({ item, grams }: { readonly item: string; readonly grams: number }) => `${grams} g of ${item}`;
