/**
 * Grammar of a delivery's signature, as data; the sender and the receiver each have code of their own for it.
 *
 *   <Prefix>-Signature: t=<unix seconds>,v1=<hex>[,v1=<hex>]
 *   v1 = lowercase hex HMAC-SHA256(key = the whole secret with "whsec_", message = "<t>.<raw body>")
 *
 * `t` is the moment of the attempt, so a retry is signed anew.
 */
export const signatureScheme = 'v1';
export const signatureAlgorithm = 'sha256';
/** Both past and future. */
export const signatureToleranceSeconds = 300;
export const secretPrefix = 'whsec_';
