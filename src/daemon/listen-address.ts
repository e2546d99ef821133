import { hostAndPort } from '../domain/host-and-port.js';

/** Returns the URL a browser can open. */
export const addressOf = (host: string, port: number): string => `http://${hostAndPort(host, port)}`;
