import { X509Certificate } from 'node:crypto';

const block = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g;

export interface Authority {
  /** Moments in milliseconds, and which of the certificates of the file it is, counted from 1. */
  readonly place: number;
  readonly validFrom: number;
  readonly validTo: number;
}

/** Reads a PEM file of authorities to trust. Returns its certificates, or what is wrong with it in words. */
export function authoritiesIn(pem: string): readonly Authority[] | string {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem))
    return 'holds a private key; expected certificates only, since whoever may read this file could use the key';
  const bodies = [...pem.matchAll(block)].filter(([, kind]) => kind === 'CERTIFICATE');
  if (bodies.length === 0) return 'holds no certificate; expected PEM, with -----BEGIN CERTIFICATE-----';
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
      return `holds a certificate that cannot be read (number ${index + 1} of ${bodies.length})`;
    }
  }
  return authorities;
}

/** What is not good about them at this moment: they are loaded all the same, since others in the file may do. */
export function untimely(authorities: readonly Authority[], now: number): readonly string[] {
  return authorities.flatMap(({ place, validFrom, validTo }) => {
    const day = (millis: number) => new Date(millis).toISOString().slice(0, 10);
    if (validTo < now) return [`certificate ${place} expired on ${day(validTo)}`];
    return validFrom > now ? [`certificate ${place} is not valid before ${day(validFrom)}`] : [];
  });
}
