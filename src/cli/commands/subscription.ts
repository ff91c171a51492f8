import type { Command } from 'commander'
import type { CreateFlags, RevokeFlags, RotateFlags, StoreFlags } from '../options/plan-subscription.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { paintFor } from '../view/paint.js'
import { collect } from './collect.js'
import { exampleText } from './help-text.js'

const description = `Manages who may use a service. Subscriptions are kept in identity.db of the state folder that the service was started
with. A service that runs need not be restarted: it sees each change within 2 seconds, and ends sessions whose right is gone.`

export const addSubscription = (program: Command, host: Host, output: Output): void => {
  const command = program
    .command('subscription')
    .summary('say who may use a service')
    .description(description)
    .helpCommand(false)
    .addHelpText('after', () =>
      exampleText(paintFor(host.stdout, host.env), [
        [
          'rxspeech subscription create --tenant Acme --state /var/lib/rxspeech',
          'a subscriber; prints id and secret, once',
        ],
        ['rxspeech subscription rotate acme --overlap 1h', 'a new secret; the old one stays good for an hour'],
        ['rxspeech subscription revoke < token.txt', 'ends one token; the subscriber can get another'],
      ]),
    )
  addCreate(command, host, output)
  addRest(command, host, output)
}

const stateOption = ['--state <dir>', 'the state folder of the service (default: .rxspeech)'] as const
const jsonOption = ['--json', 'print JSON'] as const

const addCreate = (command: Command, host: Host, output: Output): void => {
  command
    .command('create')
    .summary('make a subscription')
    .description('Makes a subscription and prints its id and its secret, which is shown this once and kept nowhere.')
    .option('--client-id <id>', 'its id (default: a new one)')
    .option('--tenant <name>', 'what it is granted; may be repeated, * is all (default: Default)', collect)
    .option('--project <name>', 'may be repeated (default: *)', collect)
    .option('--model <name>', 'may be repeated (default: *)', collect)
    .option('--valid-from <date>', 'such as 2026-01-31 or 2026-01-31T12:00:00Z (default: now)')
    .option('--valid-until <date>', 'the first moment that it is not valid any more (default: never)')
    .option('--introspect', 'may ask what the tokens of others allow, as a gateway does')
    .option(...stateOption)
    .option(...jsonOption)
    .action(async (flags: CreateFlags) => {
      const { create } = await import('../actions/subscription.js')
      await create(flags, host, output)
    })
}

const addRest = (command: Command, host: Host, output: Output): void => {
  command
    .command('list')
    .summary('show all subscriptions')
    .option(...stateOption)
    .option(...jsonOption)
    .action(async (flags: StoreFlags) => {
      const { list } = await import('../actions/subscription.js')
      await list(flags, host, output)
    })
  command
    .command('cancel')
    .summary('end a subscription, all its tokens and sessions, for good')
    .argument('<id>', 'its client id')
    .option(...stateOption)
    .action(async (id: string, flags: StoreFlags) => {
      const { cancel } = await import('../actions/subscription.js')
      await cancel(id, flags, host, output)
    })
  command
    .command('rotate')
    .summary('give a subscription a new secret')
    .description(
      'Prints a new secret, this once. The old one stays good for the overlap, so that clients can be given the new one\n' +
        'while they work. Tokens stay good; to end them, revoke them or cancel the subscription.',
    )
    .argument('<id>', 'its client id')
    .option('--overlap <duration>', 'such as 30m, 1h or 7d; 0 ends the old secret at once (default: 1h)')
    .option(...stateOption)
    .option(...jsonOption)
    .action(async (id: string, flags: RotateFlags) => {
      const { rotate } = await import('../actions/subscription.js')
      await rotate(id, flags, host, output)
    })
  command
    .command('revoke')
    .summary('end one token and its sessions')
    .description('Ends one token: the jti as an argument, or the whole token in RXSPEECH_TOKEN or on standard input.')
    .argument('[jti]', 'the id of the token; never the token itself, which others would see in the list of processes')
    .option(...stateOption)
    .action(async (jti: string | undefined, flags: RevokeFlags) => {
      const { revoke } = await import('../actions/revoke-token.js')
      await revoke(jti, flags, host, output)
    })
}
