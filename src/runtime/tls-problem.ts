/** Why a TLS connection failed and how to fix it. Retrying does not help. */
export interface TlsProblem {
  readonly what: string;
  readonly next: string;
}

export interface TlsPeer {
  /** The option that names an additional certificate authority, such as `platform.ca`. */
  readonly trust: string;
  /** The option with the address, such as `platform.baseUrl`. */
  readonly address: string;
}

/** The configuration options of the platform. */
export const platformPeer: TlsPeer = { trust: 'platform.ca', address: 'platform.baseUrl' };

/** Returns null when `code`, of Node or OpenSSL, is not about TLS, so that a retry may help. */
export function tlsProblem(code: string, { trust, address }: TlsPeer): TlsProblem | null {
  if (code === 'DEPTH_ZERO_SELF_SIGNED_CERT')
    return {
      what: 'its certificate is self-signed',
      next: `if this server is the right one, name a PEM file with its certificate as ${trust}`,
    };
  if (unknownAuthority.has(code))
    return {
      what: 'its certificate comes from an authority that is not trusted here',
      next: `name a PEM file with the certificate of that authority as ${trust}`,
    };
  if (code === 'CERT_HAS_EXPIRED')
    return {
      what: 'its certificate has expired',
      next: "the server needs a new certificate; if it has one, check this machine's clock (timedatectl)",
    };
  if (code === 'CERT_NOT_YET_VALID')
    return {
      what: 'its certificate is not valid yet',
      next: "check this machine's clock (timedatectl); certificates are rarely issued ahead of time",
    };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return {
      what: 'its certificate is for another host name',
      next: `use a host name of the certificate in ${address}`,
    };
  if (notTls.has(code))
    return {
      what: 'it does not speak TLS on this port',
      next: `check the port in ${address}, and whether the address begins with http or https there`,
    };
  if (protocol.test(code))
    return {
      what: 'there is no TLS version or cipher that both sides accept',
      next: 'the server has to offer TLS 1.2 or later',
    };
  if (certificate.test(code))
    return {
      what: 'its certificate was not accepted',
      next: `check the certificate of the server; a private authority goes into ${trust}`,
    };
  return null;
}

const unknownAuthority: ReadonlySet<string> = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Error codes of a server that responds to the TLS handshake in plain text. */
const notTls: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
]);

const protocol = /^EPROTO$|^ERR_SSL_.*(?:PROTOCOL|VERSION|HANDSHAKE_FAILURE|CIPHER)/;
const certificate =
  /CERT|^ERR_(?:SSL|TLS)_|^(?:INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$/;
