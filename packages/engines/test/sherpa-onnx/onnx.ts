/**
 * Writes files of ONNX, a format of Protocol Buffers (onnx.proto3 has the numbers of the fields), for models of tests.
 */

type Field = readonly [number: number, value: bigint | number | string | Uint8Array | readonly Field[]]

const varint = (value: bigint): Buffer => {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, value)
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  return Buffer.from([...bytes, Number(rest)])
}

/** A message: whole numbers as varints, everything else with its length. */
const message = (fields: readonly Field[]): Buffer =>
  Buffer.concat(
    fields.flatMap(([number, value]) => {
      if (typeof value === 'number' || typeof value === 'bigint') {
        return [varint(BigInt(number) << 3n), varint(BigInt(value))]
      }
      const bytes = typeof value === 'string' || ArrayBuffer.isView(value) ? Buffer.from(value) : message(value)
      return [varint((BigInt(number) << 3n) | 2n), varint(BigInt(bytes.length)), bytes]
    }),
  )

const elementTypes = { float: 1, int32: 6, int64: 7, float16: 10 } as const

/** A named tensor without a value: an input or an output. A dimension that is a string may have any size. */
export interface Port {
  readonly name: string
  readonly type: keyof typeof elementTypes
  readonly shape: readonly (number | string)[]
}

const portFields = ({ name, type, shape }: Port): readonly Field[] => {
  const dimensions = shape.map((size): Field => [1, [typeof size === 'number' ? [1, size] : [2, size]]])
  const tensor: Field = [
    1,
    [
      [1, elementTypes[type]],
      [2, dimensions],
    ],
  ]
  return [
    [1, name],
    [2, [tensor]],
  ]
}

/** A constant of the graph: numbers in the order of its rows. */
export interface Constant {
  readonly name: string
  readonly shape: readonly number[]
  readonly values: Float32Array | BigInt64Array
}

const constantFields = ({ name, shape, values }: Constant): readonly Field[] => [
  ...shape.map((size): Field => [1, size]),
  [2, values instanceof Float32Array ? elementTypes.float : elementTypes.int64],
  [8, name],
  [9, new Uint8Array(values.buffer, values.byteOffset, values.byteLength)],
]

/** An operator: its type, the names of its inputs and outputs, and its attributes of whole numbers. */
export interface Operator {
  readonly type: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes?: Readonly<Record<string, number | readonly number[]>>
}

const attributeFields = ([name, value]: readonly [string, number | readonly number[]]): readonly Field[] =>
  typeof value === 'number'
    ? [
        [1, name],
        [3, value],
        [20, 2],
      ]
    : [[1, name], ...value.map((item): Field => [8, item]), [20, 7]]

const operatorFields = ({ type, inputs, outputs, attributes = {} }: Operator): readonly Field[] => [
  ...inputs.map((name): Field => [1, name]),
  ...outputs.map((name): Field => [2, name]),
  [4, type],
  ...Object.entries(attributes).map((attribute): Field => [5, attributeFields(attribute)]),
]

/** A model of operators of set 13, the newest that changed those which are used here. */
export interface OnnxModel {
  readonly inputs: readonly Port[]
  readonly outputs: readonly Port[]
  readonly constants: readonly Constant[]
  readonly operators: readonly Operator[]
  readonly metadata?: Readonly<Record<string, string | number>>
}

export const onnxFile = ({ inputs, outputs, constants, operators, metadata = {} }: OnnxModel): Buffer =>
  message([
    [1, 8],
    [
      7,
      [
        ...operators.map((operator): Field => [1, operatorFields(operator)]),
        [2, 'graph'],
        ...constants.map((constant): Field => [5, constantFields(constant)]),
        ...inputs.map((port): Field => [11, portFields(port)]),
        ...outputs.map((port): Field => [12, portFields(port)]),
      ],
    ],
    [
      8,
      [
        [1, ''],
        [2, 13],
      ],
    ],
    ...Object.entries(metadata).map(([key, value]): Field => [
      14,
      [
        [1, key],
        [2, String(value)],
      ],
    ]),
  ])
