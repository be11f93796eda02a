// Energy distances of many labellings of one pool of measures, for `_labelled.py`. Compiled with THREADS.
//
// At a level the measures stand in the order of their quantiles. With M the mass up to the k-th and X that of the items
// which a labelling has in the first collection, D = (size_x + size_y) X - size_x M is the difference of the two
// distribution functions in units of 1 / (size_x size_y), and the level adds the sum of gap_k D^2.

// A block takes a level, and a thread a labelling, whose label of an item is one bit of a word that 32 labellings share.
// `gap` has the level's width in it; `mass` may be null: then every measure has mass 1.
extern "C" __global__ void __launch_bounds__(THREADS) labelled_levels(
    const unsigned* labels, const int* item, const double* gap, const double* mass, double* energy, int rows, int words,
    int labellings, int size_x, int size_y) {
  const int labelling = blockIdx.y * THREADS + threadIdx.x;
  if (labelling >= labellings) return;
  const long long level = (long long)blockIdx.x * rows;
  const unsigned *word = labels + labelling / 32, bit = 1u << labelling % 32;
  const double both = (double)size_x + size_y;
  double in_x = 0, all = 0, sum = 0;
#pragma unroll 4
  for (int k = 0; k < rows; k++) {
    const double own = mass ? mass[level + k] : 1.0;
    all += own;
    in_x += word[(long long)item[level + k] * words] & bit ? own : 0.0;
    const double d = both * in_x - size_x * all;
    sum += gap[level + k] * (d * d);
  }
  energy[(long long)blockIdx.x * labellings + labelling] = sum;
}
