import { z } from 'zod';
import { accessTokenReference, secretMark, secretReference, sourceName } from './values.js';

/** How to authenticate to the platform. */

export const token = accessTokenReference.optional();

export const credentials = z
  .strictObject({
    file: z.string().min(1).optional().meta({
      description:
        'File in which `rosterd connect` stores the rotating tokens; created with mode 0600. Set this or vault',
    }),
    vault: sourceName.optional().meta({
      description: 'Name of the vault entry in which `rosterd connect` stores the rotating tokens',
    }),
    clientId: z.string().min(1).meta({ description: 'Publishable key of the application, pk_…' }),
    clientSecret: secretReference.optional().meta({
      ...secretMark,
      description: 'Secret key of the application; omit it for a public client',
    }),
  })
  .optional();
