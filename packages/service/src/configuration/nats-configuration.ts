import { listOf, secretSource, setting, text, yesOrNo } from './settings.js'

/** The keys of a connection to NATS. */
export const natsKeys = {
  servers: setting(listOf(text), 'none: this machine alone', 'The servers of one cluster, such as tls://nats-0:4222.'),
  user: setting(text, 'none', 'The user of this process.'),
  password: setting(secretSource, 'none', 'The source of its password.'),
  credentialsFile: setting(text, 'none', 'A credentials file (`.creds`), instead of user and password.'),
  caFile: setting(text, 'those of Node', 'The CA certificates of the servers, PEM.'),
  certificateFile: setting(text, 'none', 'A client certificate, PEM, for servers that verify clients.'),
  keyFile: setting(text, 'none', 'Its private key, PEM.'),
  insecure: setting(
    yesOrNo,
    'false',
    'Permits plain text beyond loopback; everyone on the network can read the audio.',
  ),
}
