import type { NatsOptions } from 'rxspeech-nats/connection/nats-options'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { readFileText } from '../service/configuration-file.js'
import { flag, flagGroup, repeatedFlag, switchFlag, type FlagValues } from './flags.js'
import { text } from './values.js'

/** The flags of a connection to NATS. */
export const natsFlags = {
  nats: repeatedFlag('<url>', 'a NATS server, such as tls://nats-0:4222; may be repeated for a cluster', text),
  ...flagGroup('NATS:', {
    natsUser: flag('<name>', 'the user of this process; its password is in RXSPEECH_NATS_PASSWORD', text),
    natsCredentials: flag('<file>', 'a credentials file (.creds), instead of a user', text),
    natsCa: flag('<file>', 'the CA certificate of the servers in PEM (default: those of Node)', text),
    natsInsecure: switchFlag('permit plain text beyond loopback'),
  }),
}

/** Throws `invalid-options` for a file that cannot be read, and without a server or a password. */
export const natsOfFlags = (flags: FlagValues<typeof natsFlags>, env: Host['env']): NatsOptions => {
  const { nats: servers, natsUser: user, natsCredentials, natsCa, natsInsecure: insecure } = flags
  if (servers.length === 0) throw usageError('NATS needs a server; set it with --nats.')
  const password = env['RXSPEECH_NATS_PASSWORD']
  if (user !== undefined && (password ?? '') === '') {
    throw usageError('The user of NATS needs a password; set RXSPEECH_NATS_PASSWORD.')
  }
  return {
    servers,
    ...(user !== undefined && { user, password }),
    credentials: natsCredentials && readFileText('--nats-credentials', natsCredentials),
    ca: natsCa && readFileText('--nats-ca', natsCa),
    insecure,
  }
}
