import { z } from 'zod';
import { roles } from '../domain/role.js';
import { formats } from './formats.js';
import {
  addressRange,
  headerToken,
  listenAddress,
  secretMark,
  secretReference,
  sourceName,
} from './values.js';

/** The dashboard and the people who use it. */

const role = z.enum(roles);

const consoleToken = z
  .strictObject({
    name: sourceName.meta({ description: 'Who or what uses it; the audit log names it' }),
    role: role.meta({
      description:
        '`viewer` never sees names of investors; `analyst` may show them; `operator` may also act: resync, accept deletions, pause',
    }),
    token: secretReference.meta({ ...secretMark, description: 'The token itself' }),
  })
  .meta({ description: 'One token of a person or a program' });

const consoleProxy = z
  .strictObject({
    addresses: z.array(addressRange).min(1).meta({
      description:
        'Addresses of the proxy, such as 10.0.0.5 or 10.0.0.0/28; from others the header is refused',
    }),
    header: headerToken
      .refine(formats['user-header'], 'a header that only the proxy sets, such as X-Forwarded-User')
      .meta({ format: 'user-header' })
      .meta({ description: 'Header with the name of the user; the proxy must remove it from requests' }),
    users: z
      .array(
        z.strictObject({
          name: z.string().min(1).max(200).meta({ description: 'Name of the user as the header has it' }),
          role: role.meta({ description: 'What this user may do' }),
        }),
      )
      .default([])
      .meta({ description: 'Users with a role of their own' }),
    role: role.nullable().default('viewer').meta({
      description: 'Role of every other user that the proxy names; null refuses them',
    }),
  })
  .optional()
  .meta({ description: 'Sign-in through a reverse proxy that checks users and names them in a header' });

const consoleAuth = z
  .strictObject({
    token: secretReference.optional().meta({
      ...secretMark,
      description:
        'Token that people enter to sign in and programs send as a bearer token; it has the role analyst',
    }),
    tokens: z.array(consoleToken).optional().meta({
      description: 'Further tokens, each with a name and a role',
    }),
    proxy: consoleProxy,
    user: z
      .string()
      .regex(/^[^:\p{Cc}]+$/u, 'a name without ":"')
      .optional()
      .meta({ description: 'User name for basic authentication; set user and password, or token' }),
    password: secretReference.optional().meta({
      ...secretMark,
      description: 'Password for basic authentication',
    }),
  })
  .nullable()
  .default(null)
  .meta({
    description:
      'Sign-in: tokens, or a user and password, or a proxy. Required when other machines can connect',
  });

export const consoleSettings = z
  .strictObject({
    listen: listenAddress.default('127.0.0.1:8788').meta({
      description: 'Address and port of the dashboard, health and metrics; requires auth beyond loopback',
    }),
    hosts: z
      .array(z.string().regex(/^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/, 'a host name without a port'))
      .default([])
      .meta({
        description: 'Accepted host names, for a proxy in front of the console. Requires auth',
      }),
    auth: consoleAuth,
    auditKeepDays: z.int().min(1).max(36_500).nullable().default(365).meta({
      description: 'Days to keep the audit log of the console; null keeps it forever',
    }),
    metricsSources: z.int().min(0).max(10_000).default(200).meta({
      description: 'Sources with metrics of their own, the worst of many; figures over all are always there',
    }),
  })
  .nullable()
  .prefault({})
  .meta({
    description: 'The dashboard, /livez, /readyz, /healthz, /status.json and /metrics; null disables them',
  });
