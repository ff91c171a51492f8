import { describe, expect, it } from 'vitest'
import { faultsFlags, planFaults as planTyped } from '../../../bench/faults/command.js'
import { readFlags, type TypedFlags } from '../../../packages/service/src/cli/parsing/flags.js'
import { namedFaults } from '../../../src/testing/faults/named-faults.js'

const planFaults = (typed: TypedFlags, env: Readonly<Record<string, string | undefined>>) =>
  planTyped(readFlags(faultsFlags, typed), env)
const remote = { url: 'wss://speech.example.com', model: 'm', token: 'abc' }
const messageOf = (...args: Parameters<typeof planFaults>): unknown => {
  try {
    return planFaults(...args)
  } catch (error) {
    return (error as Error).message
  }
}

describe('the plan of npm run faults', () => {
  it('is every fault over both transports against a scripted service by default', () => {
    expect(planFaults({}, {})).toEqual({
      names: namedFaults,
      transports: ['websocket', 'grpc'],
      service: { where: 'scripted' },
      json: false,
    })
    expect(planFaults({ dev: true }, {}).service).toMatchObject({ where: 'here', model: 'call' })
  })

  it('is the named faults, in their own order', () => {
    expect(planFaults({ only: ['half-open, drop', 'drop'] }, {}).names).toEqual(['drop', 'half-open'])
    expect(messageOf({ only: ['drops'] }, {})).toMatch(/^--only must be drop, .*, not "drops"; did you mean drop\?$/)
    expect(messageOf({ only: [''] }, {})).toMatch(/^--only must be/)
  })

  it('is limited to the transports with an address', () => {
    expect(planFaults(remote, {})).toMatchObject({ transports: ['websocket'], service: { where: 'elsewhere' } })
    expect(planFaults({ ...remote, grpc: 'speech.example.com:443' }, {}).transports).toEqual(['websocket', 'grpc'])
    expect(planFaults({ over: 'grpc' }, {}).transports).toEqual(['grpc'])
    expect(messageOf({ ...remote, over: 'grpc' }, {})).toMatch(/needs an address; set --grpc/)
    expect(messageOf({ url: remote.url, token: 'abc' }, {})).toMatch(/set --model/)
    expect(messageOf({ ...remote, dev: true }, {})).toMatch(/omit --url and --grpc/)
    expect(messageOf({ token: 'abc' }, {})).toMatch(/for another service/)
  })
})
