import type { Command } from 'commander'
import type { TokenFlags } from '../actions/token.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { paintFor } from '../view/paint.js'
import { exampleText } from './help-text.js'

export const addToken = (program: Command, host: Host, output: Output): void => {
  program
    .command('token')
    .summary('print a token, for use in scripts')
    .description('Gets a token from a token endpoint and prints it, and nothing else, on stdout.')
    .option('--auth-url <url>', 'base address of the token endpoint')
    .option('--client-id <id>', 'who asks for the token')
    .option('--client-secret <secret>', 'better kept in RXSPEECH_CLIENT_SECRET')
    .option('--ca <file>', 'CA certificates in PEM, in place of those of Node')
    .option('--proxy <url>', 'HTTP proxy to go through (default: what HTTPS_PROXY and NO_PROXY say)')
    .option('--no-proxy', 'no proxy, whatever the environment says')
    .option('--scope <scope>', 'what the token is for (default: Ldm_Integration)')
    .option('--json', 'print the whole answer, with its expires_in')
    .option('--timeout-ms <ms>', 'how long it may take (default: 10000)')
    .addHelpText('after', () =>
      exampleText(paintFor(host.stdout, host.env), [
        [
          'export RXSPEECH_TOKEN=$(rxspeech token \\\n' + '      --auth-url https://auth.example.com --client-id acme)',
          'one token for many commands; the secret is in RXSPEECH_CLIENT_SECRET',
        ],
      ]),
    )
    .action(async (flags: TokenFlags) => {
      const { token } = await import('../actions/token.js')
      await token(flags, host, output)
    })
}
