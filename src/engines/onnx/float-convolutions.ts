// Turns the convolutions of an 8-bit model into those of floats. ONNX Runtime 1.30 computes them twice as fast: it has
// no fast routine for ConvInteger. In the graph, a convolution is a row of operations:
//     x -> DynamicQuantizeLinear -> ConvInteger (-> Add of the rounded bias) -> Cast -> Mul by the two scales
import type { ChangedNode, GraphChange, OnnxConstant, OnnxModel, OnnxNode } from './onnx-file.ts';

export function toFloatConvolutions(model: OnnxModel): GraphChange {
  const { makers } = model;
  const users = new Map(model.nodes.flatMap((node) => node.inputs.map((input) => [input, node])));
  const nodes = new Map<OnnxNode, ChangedNode>();
  const constants = new Map<string, OnnxConstant>();
  const other = ({ inputs }: OnnxNode, one: string | undefined): string => inputs.find((input) => input !== one) ?? '';
  for (const node of model.nodes) {
    if (node.operation !== 'ConvInteger') continue;
    const [input = '', weight = '', , zero = ''] = node.inputs;
    const quantizer = makers.get(input);
    let last = users.get(node.outputs[0]!);
    const bias = last?.operation === 'Add' ? biasOf(other(last, node.outputs[0]), makers) : undefined;
    if (bias !== undefined) last = users.get(last!.outputs[0]!);
    const scaled = last?.operation === 'Cast' ? users.get(last.outputs[0]!) : undefined;
    const scales = scaled?.operation === 'Mul' ? makers.get(other(scaled, last?.outputs[0])) : undefined;
    if (quantizer?.operation !== 'DynamicQuantizeLinear' || scales?.operation !== 'Mul') continue;
    const weights = model.constant(weight);
    const [scale, ...otherScales] = model.constant(other(scales, quantizer.outputs[1]))?.toFloats() ?? [];
    const [offset = 0, ...otherOffsets] = model.constant(zero)?.toFloats() ?? [];
    if (!weights || scale === undefined || otherScales.length + otherOffsets.length > 0) continue;
    const name = `${weight} of floats`;
    const toFloats = () => weights.toFloats().map((value) => (value - offset) * scale);
    constants.set(name, { sizes: weights.sizes, toFloats });
    const inputs = [quantizer.inputs[0]!, name, ...(bias === undefined ? [] : [bias])];
    nodes.set(scaled!, { operation: 'Conv', inputs, like: node });
  }
  return { nodes, constants };
}

const biasSteps = 6;

/** The exact bias: it is divided by the scales, rounded and reshaped. */
function biasOf(rounded: string, makers: ReadonlyMap<string, OnnxNode>): string | undefined {
  let maker = makers.get(rounded);
  for (let step = 0; maker && step < biasSteps; step++) {
    if (maker.operation === 'Div') return maker.inputs[0];
    maker = makers.get(maker.inputs[0]!);
  }
  return undefined;
}
