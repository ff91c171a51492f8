import type { Command } from 'commander'

/** What a command asks of whoever uses a service elsewhere: a token or where it is given, trust, tenant and project. */
export const addAccessOptions = (command: Command): void => {
  command
    .option('--auth-url <url>', 'where it gives tokens')
    .option('--client-id <id>', 'who asks for the token')
    .option('--client-secret <secret>', 'better kept in RXSPEECH_CLIENT_SECRET')
    .option('--token <token>', 'a token that is there already; better kept in RXSPEECH_TOKEN')
    .option('--ca <file>', 'CA certificates in PEM, in place of those of Node')
    .option('--tenant <name>', 'the tenant, also of the model (default: Default)')
    .option('--project <name>', 'the project of a gRPC session (default: transcribe)')
}
