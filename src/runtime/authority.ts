import { X509Certificate } from 'node:crypto';
import { getCACertificates } from 'node:tls';

const block = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g;

export interface Authority {
  /** The number of the certificate within its file, counted from 1. Times are in milliseconds since the epoch. */
  readonly place: number;
  readonly validFrom: number;
  readonly validTo: number;
}

/** Parses a PEM file of certificate authorities. Returns its certificates, or an error message. */
export function authoritiesIn(pem: string): readonly Authority[] | string {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem))
    return 'contains a private key; expected only certificates, because everyone who can read this file could use the key';
  const bodies = [...pem.matchAll(block)].filter(([, kind]) => kind === 'CERTIFICATE');
  if (bodies.length === 0) return 'contains no certificate; expected PEM, with -----BEGIN CERTIFICATE-----';
  const authorities: Authority[] = [];
  for (const [index, [text]] of bodies.entries()) {
    try {
      const { validFrom, validTo } = new X509Certificate(text);
      authorities.push({
        place: index + 1,
        validFrom: Date.parse(validFrom),
        validTo: Date.parse(validTo),
      });
    } catch {
      return `contains a certificate that cannot be read (number ${index + 1} of ${bodies.length})`;
    }
  }
  return authorities;
}

/** Returns a warning for each certificate that is not valid now. All are loaded, since others in the file may be valid. */
export function untimely(authorities: readonly Authority[], now: number): readonly string[] {
  return authorities.flatMap(({ place, validFrom, validTo }) => {
    const day = (millis: number) => new Date(millis).toISOString().slice(0, 10);
    if (validTo < now) return [`certificate ${place} expired on ${day(validTo)}`];
    return validFrom > now ? [`certificate ${place} is not valid before ${day(validFrom)}`] : [];
  });
}

/** Returns the authorities that Node trusts, also those of NODE_EXTRA_CA_CERTS and --use-system-ca, and one more. */
export const trustedWith = (pem: string): string[] => [...getCACertificates('default'), pem];
