import type { Command } from 'commander'
import { namedFaults } from '../../testing/faults/named-faults.js'
import type { FaultsFlags } from '../options/plan-faults.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { paintFor } from '../view/paint.js'
import { addAccessOptions } from './access-options.js'
import { collect } from './collect.js'
import { exampleText } from './help-text.js'

const description = [
  'Plays faults of the network and of services through this client (drops, outages, half-open connections, refused',
  'tokens and more) and prints what comes of them, beside what other clients were measured to do. Without an address',
  'that is against a scripted service in this process, which proves of every sample whether it arrived. Ends with 1',
  `when a promise is broken. The faults: ${namedFaults.join(', ')}.`,
].join(' ')

export const addFaults = (program: Command, host: Host, output: Output): void => {
  const command = program
    .command('faults')
    .summary('play faults of the network, and show what is lost')
    .description(description)
    .option('--only <names>', 'these faults only, with commas between them; may be repeated', collect)
    .option('--over <transport>', 'grpc or websocket (default: both, as far as there are addresses)')
    .option('--dev', 'against the development service, in this process')
    .option('--json', 'print JSON')
    .optionsGroup('A service elsewhere:')
    .option('--url <url>', 'its WebSocket address, wss://…')
    .option('--grpc <host:port>', 'its gRPC address')
  addAccessOptions(command)
  command
    .option('--model <name>', 'the model, of 8 kHz')
    .option('--plaintext', 'no TLS for --grpc; on this machine only')
    .option('--timeout-ms <ms>', 'how long a request for a token may take')
    .addHelpText('after', () =>
      exampleText(paintFor(host.stdout, host.env), [
        ['rxspeech faults', 'all of them, over both transports'],
        ['rxspeech faults --only drop,half-open --over grpc', 'two of them over one transport'],
        [
          'rxspeech faults --url wss://speech.example.com --model sales \\\n' +
            '      --auth-url https://auth.example.com --client-id acme',
          'against a service elsewhere; the secret is in RXSPEECH_CLIENT_SECRET',
        ],
      ]),
    )
    .action(async (flags: FaultsFlags) => {
      const { faults } = await import('../actions/faults.js')
      await faults(flags, host, output)
    })
}
