import { describe, expect, it } from 'vitest'
import { createFaultsProgram } from '../../../bench/faults/command.js'
import { runCli } from '../../../packages/service/src/cli/run-cli.js'
import { runInProcess } from '../../../packages/service/test/cli/in-process.js'
import type { Ended } from '../../../packages/service/test/cli/command.js'

const runFaults = (args: readonly string[]): Promise<Ended> =>
  runInProcess(args, {}, (given, host) => runCli(given, host, createFaultsProgram))

interface Row {
  readonly fault: string
  readonly over: string
  readonly promise: string
  readonly findings: string
}

// Each fault runs on 8 s of audio at the speed of speech, so all of them run concurrently.
describe.concurrent('npm run faults', () => {
  it('runs the named faults over both transports, and prints the table with the peers', async () => {
    const { code, stdout, stderr } = await runFaults(['--only', 'refused-token,malformed-message'])
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('Every promise is kept.') })
    expect(stdout).toContain('✓ malformed message      rxspeech an event\n')
    expect(stdout).toContain('Speechmatics process dies')
    expect(stdout).toContain('✓ token refused (401)    rxspeech 1 refresh\n')
    expect(stderr.match(/^✓ .*0 ms lost, 0 ms in flight lost, ended with its final$/gm)).toHaveLength(2)
    expect(stdout + stderr).not.toContain('\u001b')
  })

  it('prints only JSON, and exits with 1 when a promise is broken', async () => {
    // Nothing answers a token request at this address, so no session starts.
    const elsewhere = ['--url', 'ws://127.0.0.1:1', '--model', 'm', '--token', 'abc']
    const { code, stdout, stderr } = await runFaults([
      '--json',
      '--only',
      'malformed-message,fresh-token',
      ...elsewhere,
    ])
    const rows = JSON.parse(stdout) as readonly Row[]
    expect(rows).toMatchObject([
      { fault: 'fresh-token', over: 'websocket', promise: 'skipped' },
      {
        fault: 'malformed-message',
        over: 'websocket',
        promise: 'broken',
        findings: expect.stringContaining('failed with connection-failed') as unknown,
      },
    ])
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  })

  it('runs against the development service with --dev, and uses the ledger', async () => {
    const { code, stdout } = await runFaults(['--dev', '--json', '--only', 'malformed-message', '--over', 'grpc'])
    expect(JSON.parse(stdout)).toMatchObject([{ promise: 'kept', over: 'grpc' }])
    expect(code).toBe(0)
  })

  it('reports invalid flags, and exits with 2', async () => {
    expect(await runFaults(['--only', 'nothing'])).toMatchObject({ code: 2, stdout: '' })
  })
})
