/** A value that only its own parser can create: a plain string cannot be passed as `Brand<string, 'CompanyId'>`. */
declare const brand: unique symbol;
export type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };
