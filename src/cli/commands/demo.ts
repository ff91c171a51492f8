import type { Command } from 'commander'
import type { DemoFlags } from '../actions/demo.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'

export const addDemo = (program: Command, host: Host, output: Output): void => {
  program
    .command('demo')
    .summary('transcribe the sample call with a service in this process')
    .description(
      'Starts the service in this process (token endpoint, gRPC and WebSocket over TLS), gets a token from it and\n' +
        'transcribes the sample call through a gRPC session. Needs no account and no network.',
    )
    .option('--speed <times>', 'times real time, or max (default: 4)')
    .action(async (flags: DemoFlags) => {
      const { demo } = await import('../actions/demo.js')
      await demo(flags, host, output)
    })
}
