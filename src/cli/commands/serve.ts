import type { Command } from 'commander'
import type { ServeFlags } from '../options/plan-serve.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { paintFor } from '../view/paint.js'
import { collect } from './collect.js'
import { exampleText } from './help-text.js'

const description = `Runs the service. When everything listens, one line of JSON on stdout says how to reach it; the log is on stderr.
SIGTERM ends sessions with their finals; a second one ends at once.`

export const addServe = (program: Command, host: Host, output: Output): void => {
  program
    .command('serve')
    .summary('run the service')
    .description(description)
    .option('--dev', 'for this machine only: a CA, a certificate and a subscription of its own')
    .option('--http <host:port>', 'where tokens and WebSockets are served (default: 127.0.0.1:0, a free port)')
    .option('--grpc <host:port>', 'where gRPC is served (default: 127.0.0.1:0, a free port)')
    .option('--models <dir>', 'models, <tenant>/<name>/<version>/model.json; may be repeated', collect)
    .option('--projects <dir>', 'projects, <tenant>/<name>/<version>.yaml; may be repeated', collect)
    .option('--nodes <file or package>', 'custom nodes that projects may name; may be repeated', collect)
    .option('--recordings <dir>', 'where the node recorder may keep recordings (default: nowhere)')
    .option('--model <name>', 'the model of a session that names none')
    .option('--state <dir>', 'where keys and certificates are kept (default: .rxspeech)')
    .option('--operations <host:port>', 'where /livez, /readyz and /metrics are served (default: nowhere)')
    .option('--log-level <level>', 'debug, info, warn or error (default: info)')
    .option('--log-format <format>', 'text or json (default: text in a terminal, else json)')
    .optionsGroup('From a file:')
    .option('--config <file>', 'all of the above and more, in YAML; docs/OPERATING.md names every key')
    .option('--check', 'only say whether the file is sound')
    .optionsGroup('Without --dev:')
    .option('--cert <file>', 'certificate chain in PEM; without it plain text, on loopback only')
    .option('--key <file>', 'its private key in PEM')
    .option('--client-id <id>', 'a subscriber beside those of rxspeech subscription; secret in RXSPEECH_CLIENT_SECRET')
    .option('--tenant <name>', 'a tenant, which it is granted; may be repeated (default: Default)', collect)
    .addHelpText('after', () =>
      exampleText(paintFor(host.stdout, host.env), [
        ['rxspeech serve --dev --models ./models', 'for clients to try'],
        [
          'rxspeech serve --http 0.0.0.0:443 --grpc 0.0.0.0:8443 \\\n' +
            '      --cert chain.pem --key key.pem --client-id acme --tenant Acme \\\n' +
            '      --models ./models --state /var/lib/rxspeech',
          'for others',
        ],
        ['rxspeech serve --config service.yaml --check', 'a service as its file says; drop --check to run it'],
      ]),
    )
    .action(async (flags: ServeFlags) => {
      const { serve } = await import('../actions/serve.js')
      await serve(flags, host, output)
    })
}
