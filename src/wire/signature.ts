/**
 * The format of delivery signatures. The sender and the receiver implement it separately.
 *
 *   <Prefix>-Signature: t=<unix seconds>,v1=<hex>[,v1=<hex>]
 *   v1 = lowercase hex HMAC-SHA256(key = the whole secret with "whsec_", message = "<t>.<raw body>")
 *
 * `t` is the time of the attempt, so every retry has a new signature.
 */
export const signatureScheme = 'v1';
export const signatureAlgorithm = 'sha256';
/** Maximum difference between `t` and the receiver's clock, in both directions. */
export const signatureToleranceSeconds = 300;
export const secretPrefix = 'whsec_';
