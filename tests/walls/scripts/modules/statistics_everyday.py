import statistics
from statistics import NormalDist

data = [2, 4, 4, 4, 5, 5, 7, 9]
print(statistics.mean(data), statistics.fmean(data), statistics.median(data), statistics.median_low(data), statistics.median_high(data), statistics.mode(data), statistics.multimode("aabb"))
print(statistics.pstdev(data), statistics.pvariance(data), round(statistics.stdev(data), 6), statistics.variance(data), statistics.quantiles(data, n=4), statistics.geometric_mean([1, 4]), statistics.harmonic_mean([40, 60]))
print(statistics.correlation([1, 2, 3], [1, 2, 3.5]), statistics.linear_regression([1, 2, 3], [2, 4, 6]), statistics.covariance([1, 2], [3, 5]), statistics.median_grouped([1, 2, 2, 3]))
n = NormalDist(100, 15)
print(n.mean, n.stdev, round(n.cdf(115), 4), round(n.inv_cdf(0.5), 3), NormalDist.from_samples(data), round(n.zscore(130), 2), n + 5)
for bad in ([], [1]):
    try:
        print(statistics.stdev(bad))
    except statistics.StatisticsError as error:
        print(error)
try:
    statistics.mean(["a"])
except TypeError as error:
    print(error)
