import type { natsKeys } from '../../configuration/nats-configuration.js'
import type { SectionValues } from '../../configuration/settings.js'
import { checkNatsOptions, type NatsOptions } from 'rxspeech-nats/connection/nats-options'
import type { Host } from '../process/host.js'
import { readFileText, readSecret, type LoadedConfiguration } from './configuration-file.js'

/** The connection to NATS of a configuration file; reads its secrets and certificates. Throws `invalid-options`. */
export const natsOfFile = (
  {
    servers = [],
    user,
    password,
    credentialsFile,
    caFile,
    certificateFile,
    keyFile,
    insecure,
  }: SectionValues<typeof natsKeys>,
  loaded: Pick<LoadedConfiguration<unknown>, 'file' | 'path'>,
  env: Host['env'],
): NatsOptions => {
  const read = (key: string, file: string | undefined): string | undefined =>
    file && readFileText(`${loaded.file}: ${key}`, loaded.path(file))
  return checkNatsOptions({
    servers,
    user,
    insecure,
    password: password && readSecret(password, loaded, { env, minLength: 1 }),
    credentials: read('credentialsFile', credentialsFile),
    ca: read('caFile', caFile),
    certificate: read('certificateFile', certificateFile),
    key: read('keyFile', keyFile),
  })
}
