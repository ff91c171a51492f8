import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { flagName } from '../../src/cli/parsing/flags.js'
import { userSettings } from '../../src/cli/parsing/user-settings.js'
import { engineConfiguration } from '../../src/configuration/engine-configuration.js'
import { limitScopes } from '../../src/configuration/service-limits.js'
import { configurationRows } from '../../src/configuration/service-configuration.js'
import { metricTable } from '../../../server/src/operations/metric-table.js'
import { tableBelow } from '../../../../test/docs/markdown.js'

const page = readFileSync('docs/OPERATING.md', 'utf8')

describe('docs/OPERATING.md', () => {
  it('has every key of the configuration file, in its order, and no other', () => {
    expect(tableBelow(page, 'Configuration')).toEqual(
      configurationRows().map(({ key, takes, byDefault, help }) => [`\`${key}\``, takes, byDefault, help]),
    )
  })

  it('has every setting of the command, in the order of the flags, and no other', () => {
    expect(tableBelow(page, 'Settings of the command')).toEqual(
      userSettings.map(({ name, variable, isSecret }) => [
        `\`${flagName(name)}\``,
        `\`${variable}\``,
        isSecret === true ? 'none, it is a secret' : `\`${name}\``,
      ]),
    )
  })

  it('has every metric, in the order of the table, and no other', () => {
    expect(tableBelow(page, 'Metrics')).toEqual(
      Object.entries(metricTable).map(([name, { type, labels, help }]) => [
        `\`${name}\``,
        type,
        labels.join(', '),
        help,
      ]),
    )
  })
})

describe('docs/SCALING.md', () => {
  const scaling = readFileSync('docs/SCALING.md', 'utf8')

  it('says of every limit what has it', () => {
    expect(tableBelow(scaling, 'Limits')).toEqual(
      Object.entries(limitScopes).map(([name, scope]) => [`\`limits.${name}\``, scope]),
    )
  })

  it('has every key of the file of an engine process, in its order, and no other', () => {
    expect(tableBelow(scaling, 'All keys of an engine process')).toEqual(
      configurationRows(engineConfiguration.shape).map(({ key, takes, byDefault, help }) => [
        `\`${key}\``,
        takes,
        byDefault,
        help,
      ]),
    )
  })
})

describe('docs/deploy', () => {
  const unit = readFileSync('docs/deploy/rxspeech.service', 'utf8')
  const example = readFileSync('docs/deploy/service.yaml', 'utf8')
  const valueOf = (key: string): string | undefined => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1]

  it('gives the service more time to stop than it takes to drain', () => {
    const drainMs = Number(/drainMs: (\d+)/.exec(example)?.[1])
    expect(Number(valueOf('TimeoutStopSec')) * 1000).toBeGreaterThan(drainMs + 10_000)
    expect(valueOf('KillSignal')).toBe('SIGTERM')
  })

  it('lets the unit write only to its state folder, that of the example', () => {
    expect(valueOf('ProtectSystem')).toBe('strict')
    expect(example).toContain(`stateFolder: /var/lib/${valueOf('StateDirectory') ?? ''}`)
    expect(valueOf('NoNewPrivileges')).toBe('yes')
  })

  it('runs the health check of the image against the address of the example', () => {
    const image = readFileSync('docs/deploy/Dockerfile', 'utf8')
    const operations = /operations: (\S+)/.exec(example)?.[1] ?? ''
    expect(image).toContain(`http://${operations}/readyz`)
  })
})
