/** A value that only its own parser can make: `Brand<string, 'CompanyId'>` is a string nobody can pass by mistake. */
declare const brand: unique symbol;
export type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };
