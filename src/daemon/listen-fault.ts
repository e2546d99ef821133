import { Fault } from '../domain/fault.js';
import { hostAndPort } from '../domain/host-and-port.js';

/** Returns a `usage` fault that names the option for an address that cannot be listened on; other errors unchanged. */
export function listenFault(
  error: unknown,
  option: string,
  at: { readonly host: string; readonly port: number },
): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const where = `${option}: ${hostAndPort(at.host, at.port)}`;
  if (code === 'EADDRINUSE') {
    return new Fault('usage', `${where} is in use by another program`, {
      hint: `choose another port, or find who has it: ss -ltnp 'sport = :${at.port}'`,
      cause: error,
    });
  }
  if (code === 'EACCES') {
    return new Fault('usage', `${where} may not be used by this user`, {
      hint: 'choose a port above 1023 and let a proxy listen on the lower one',
      cause: error,
    });
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new Fault('usage', `${where} is no address of this machine`, {
      hint: 'use 127.0.0.1',
      cause: error,
    });
  }
  return error;
}
