type Defined<Values> = { readonly [Key in keyof Values]?: Exclude<Values[Key], undefined> };

/** Returns the values that are not undefined. An optional property is left out: it may not be present with undefined. */
export function defined<Values extends object>(values: Values): Defined<Values> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Defined<Values>;
}
